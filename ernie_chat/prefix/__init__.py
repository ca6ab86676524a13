"""The prefix cache kept useful: what is asked often is prefilled before it is asked."""
