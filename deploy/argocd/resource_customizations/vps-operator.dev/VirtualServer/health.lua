-- Health of a VirtualServer for Argo CD. Its conditions follow kstatus: Reconciling and Stalled exist only while true.

local function find(name, status)
  if obj.status == nil or obj.status.conditions == nil then
    return nil
  end
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == name and condition.status == (status or "True") then
      return condition
    end
  end
  return nil
end

local function health(status, message)
  return { status = status, message = message }
end

-- A problem of an earlier spec must not fail the sync that has just fixed it.
local stalled = find("Stalled")
if stalled ~= nil and stalled.observedGeneration == obj.metadata.generation then
  return health("Degraded", stalled.message)
end

-- Comes before the generation check, because a paused object does not observe its generation.
local paused = find("Paused")
if paused ~= nil then
  return health("Suspended", paused.message)
end

if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The operator has not reported on the current spec yet. If this persists, check that the operator runs.")
end

-- A Ready server stays Ready while the operator temporarily cannot reach the provider.
local ready = find("Ready")
if ready ~= nil and obj.metadata.deletionTimestamp == nil then
  local message = ready.message
  -- The message of Ready is a sentence without a full stop. All others end with an address, which nothing may follow.
  local separator = ". "
  local function add(notice)
    if notice ~= nil then
      message = message .. separator .. notice.message
      separator = " "
    end
  end
  for _, name in ipairs({ "Reconciling", "Drifted", "ChangePending", "OrphanedServer", "Expiring", "HostKeyChanged" }) do
    add(find(name))
  end
  add(find("ConnectionSecret", "False"))
  return health("Healthy", message)
end

local reconciling = find("Reconciling")
if reconciling ~= nil then
  return health("Progressing", reconciling.message)
end
return health("Progressing", "The operator has not reported on this object yet. If this persists, check that the operator runs.")
