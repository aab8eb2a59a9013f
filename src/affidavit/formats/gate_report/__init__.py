"""A gate's report for people and for other tools; every form is made from its JSON alone."""
