"""One exchange over HTTP: bounded in time and size, with the address that was named and no other.

No redirect is followed, no proxy of the environment is used, no cookie is kept. TLS is checked by
the system's trust store. Why no answer came is a value; whoever asked says it in its own words.
"""
