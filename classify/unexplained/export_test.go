package unexplained

// Asked is how many kinds of lines were looked at closely.
func Asked(u *Search) int { return len(u.kinds) }
