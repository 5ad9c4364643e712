"""The checks: `<chapter>/<some_words>.py` judges the requirement `chapter.some-words`.

What several requirements of a chapter share stands beside them in `_<story>.py`.
"""
