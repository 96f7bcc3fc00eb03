import type { Create } from '../vendors.ts'
import type { settings } from './settings.ts'

export const create: Create<typeof settings> = () => ({ name: 'qoreid', isOutside: true })
