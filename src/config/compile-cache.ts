import { enableCompileCache } from 'node:module'

/**
 * Caches compiled code for later starts; if the folder is not writable, nothing is cached. Worker threads and worker processes
 * find the folder in the environment.
 */
export function useCompileCache(folder: string): void {
  const { directory } = enableCompileCache(folder)
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= folder
}
