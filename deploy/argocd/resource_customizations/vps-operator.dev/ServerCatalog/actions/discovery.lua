-- The action that Argo CD offers for a ServerCatalog.

local actions = {}
actions["reconcile"] = {}
return actions
