-- Health of a VirtualServerSet for Argo CD. Its conditions follow kstatus, as those of a VirtualServer do.

local function find(name)
  if obj.status == nil or obj.status.conditions == nil then
    return nil
  end
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == name and condition.status == "True" then
      return condition
    end
  end
  return nil
end

local function health(status, message)
  return { status = status, message = message }
end

-- Also for a paused set: the operator observes it, unlike a paused VirtualServer.
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The operator has not reported on the current spec yet. If this persists, check that the operator runs.")
end

-- Before the pause, which must not hide that a person has to act.
local stalled = find("Stalled")
if stalled ~= nil then
  return health("Degraded", stalled.message)
end

local paused = find("Paused")
if paused ~= nil then
  return health("Suspended", paused.message)
end

local ready = find("Ready")
if ready ~= nil and obj.metadata.deletionTimestamp == nil then
  return health("Healthy", ready.message)
end

local reconciling = find("Reconciling")
if reconciling ~= nil then
  return health("Progressing", reconciling.message)
end
return health("Progressing", "The operator has not reported on this object yet. If this persists, check that the operator runs.")
