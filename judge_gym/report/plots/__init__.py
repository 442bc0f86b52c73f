"""The report's plots: what they show (`reading`), how it is drawn (a module each), and as what.

`reading` and the modules it uses take what an analysis has and make tidy rows; it is the only one
that reads the database. A drawing module is a pure function from tidy rows to an altair chart,
for the report and for notebooks alike. `svg` makes a chart a part of the page, and `drawing` says
which module draws what. Only drawing imports altair: rows can be read without it.
"""
