"""Run many independent pieces of work: in this process, in local processes, or on Spark."""
