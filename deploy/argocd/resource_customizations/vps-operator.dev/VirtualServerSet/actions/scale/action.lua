-- Scale: sets the number of servers. A smaller number cancels servers. The API server refuses a number out of range.

local text = (actionParams or {})["replicas"]
-- The command line of Argo CD cannot pass parameters.
if text == nil then
  error("replicas is missing: enter it in the user interface, or run `kubectl scale vpsset " .. obj.metadata.name .. " -n " .. obj.metadata.namespace .. " --replicas=NUMBER`", 0)
end
local replicas = tonumber(text)
if replicas == nil then
  error('replicas must be a whole number from 0 to 10000, not "' .. text .. '"', 0)
end

obj.spec.replicas = replicas
return obj
