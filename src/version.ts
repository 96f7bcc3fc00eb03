import { readAssetText } from './assets/asset.ts'

const read = JSON.parse(readAssetText('package.json')) as { version: string }

export const VERSION = read.version
