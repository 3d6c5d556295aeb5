-- Creates one user after another.
dofile("report.lua")

local created = 0

function request()
  created = created + 1
  return creation(created)
end
