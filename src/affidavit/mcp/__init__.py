"""The tools of Affidavit for agents, over the Model Context Protocol."""
