"""The optimal unbiased randomiser of one number, from the linear programme that also bounds it."""
