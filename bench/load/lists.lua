-- Lists all users, again and again.
dofile("report.lua")

wrk.path = os.getenv("LIST_PATH")
