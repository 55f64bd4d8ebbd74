/** unpacked loads a file that is compressed by gzip, and returns its text in bytes. Some hosts decompress it already. */
export async function unpacked(file) {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file}: status ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}
