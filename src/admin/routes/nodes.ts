import { readNodeReports } from '../../context/node-report.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { NodesView } from '../shapes/nodes.ts'

const list = defineRoute({
  name: 'list_nodes',
  tag: 'Settings',
  method: 'GET',
  path: '/admin/nodes',
  summary:
    'The server processes of this database: version, uptime, load, and the age of what they have learnt.',
  role: 'viewer',
  output: NodesView,
  run: async ({ context }) => ({ nodes: await readNodeReports(context.store.nodes) }),
})

export const NODE_ROUTES: readonly AdminRoute[] = [list]
