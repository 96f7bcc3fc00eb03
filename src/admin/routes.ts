import type { AdminRoute } from './route.ts'

/** The admin API. Adding an address is an entry in a file of routes/ and, for a new file, a line here. */
export const ADMIN_ROUTES: readonly AdminRoute[] = []
