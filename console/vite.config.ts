import { defineConfig } from 'vite'

/** Keeps the Host header, because the server refuses unknown hosts. */
const SERVER = { target: 'http://127.0.0.1:8081', changeOrigin: false }

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  // A file that git ignores must not change the page.
  envDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    // The content security policy forbids inline scripts, and there is nothing to preload.
    modulePreload: false,
    // One style sheet: pages are loaded as scripts only.
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  // npm run dev:console: the sources of the page, with the admin API of the server on port 8081.
  server: { proxy: { '/admin': SERVER, '/health': SERVER } },
})
