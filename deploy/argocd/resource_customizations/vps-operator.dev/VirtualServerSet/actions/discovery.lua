-- The actions that Argo CD offers for a VirtualServerSet. An action that would change nothing is disabled.

local isPaused = obj.spec.paused == true

local actions = {}
actions["pause"] = { ["disabled"] = isPaused }
actions["resume"] = { ["disabled"] = not isPaused }
actions["protect"] = { ["disabled"] = obj.spec.template.spec.deletionProtection == true }
actions["scale"] = { ["params"] = { { ["name"] = "replicas" } } }
return actions
