import { createReference } from '../verification/reference.ts'

/** Like a reference: it sorts by time, and cannot be guessed. */
export const createErasureId = () => createReference().replace('ver_', 'era_')
