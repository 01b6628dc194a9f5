-- Health of a ServerCatalog for Argo CD: it is Healthy while its API key works. Its conditions follow kstatus, as those of
-- a VirtualServer do.

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

if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The operator has not reported on the current spec yet. If this persists, check that the operator runs.")
end

local stalled = find("Stalled")
if stalled ~= nil then
  return health("Degraded", stalled.message)
end

-- A Ready catalog stays Ready while the operator temporarily cannot reach the provider.
local ready = find("Ready")
local reconciling = find("Reconciling")
if ready ~= nil then
  if reconciling ~= nil then
    return health("Healthy", ready.message .. ". " .. reconciling.message)
  end
  return health("Healthy", ready.message)
end

if reconciling ~= nil then
  return health("Progressing", reconciling.message)
end
return health("Progressing", "The operator has not reported on this object yet. If this persists, check that the operator runs.")
