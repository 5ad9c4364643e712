"""How a deviation shows to a script: one function for each finding that can be exported.

The function of finding `code` against `chapter.words` is called `chapter_words__code`; it returns what it saw, or "".
Only its source is used: it is copied into the script, after what every script has, with the functions that it calls.
What it looks for is the symptom of the finding in this one schedule, and less than what the check of the requirement
knows. One that calls `finish` waits for the client's process to end by itself, and is asked last.
"""
