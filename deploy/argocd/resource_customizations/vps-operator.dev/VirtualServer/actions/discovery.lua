-- The actions that Argo CD offers for a VirtualServer. An action that would change nothing is disabled.

local paused = (obj.metadata.annotations or {})["vps-operator.dev/paused"]
local isPaused = paused ~= nil and paused ~= "false"
-- The API server refuses Retain for a server that expires.
local expires = obj.spec.ttl ~= nil or obj.spec.expiresAt ~= nil

local actions = {}
actions["pause"] = { ["disabled"] = isPaused }
actions["resume"] = { ["disabled"] = not isPaused }
actions["reconcile"] = {}
actions["protect"] = { ["disabled"] = obj.spec.deletionProtection == true }
actions["retain"] = { ["disabled"] = expires or obj.spec.deletionPolicy == "Retain" }
return actions
