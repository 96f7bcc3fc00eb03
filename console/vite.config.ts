import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    // The policy of the page allows no inline script, and there is nothing to preload.
    modulePreload: false,
    reportCompressedSize: false,
  },
  // npx vite --config console/vite.config.ts: the page as it is written, in front of whatever listens on 8081.
  server: { proxy: { '/admin': 'http://127.0.0.1:8081', '/health': 'http://127.0.0.1:8081' } },
})
