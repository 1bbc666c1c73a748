/// One input in 256, chosen by its bytes, made longer than 64 KiB at a place that its bytes choose.
///
/// libFuzzer's inputs are small, and what goes wrong with buffers goes wrong with large ones: those of libxml2 are then
/// refilled, moved and given back to the system. `nil` for all other inputs.
package func padded(_ bytes: [UInt8]) -> [UInt8]? {
    let often: UInt64 = 256
    // FNV-1a.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    // The low bits of a small input are poor.
    hash ^= hash >> 29
    guard hash % often == 0 else { return nil }
    let kinds = [
        "<item><title>x</title><link>http://x.example/</link></item>", " ", "x", "&#65;", "é", "\r\n", "<!-- - -->",
        "<entry><title>x</title></entry>", "<outline text='x' xmlUrl='http://x.example/'/>", "]", "&", "<a>",
    ]
    let part = Array(kinds[Int(hash / often % UInt64(kinds.count))].utf8)
    let place = Int(hash >> 20) % (bytes.count + 1)
    var result = Array(bytes[..<place])
    let size = 65_536 + Int(hash >> 40) % 65_536
    result.reserveCapacity(bytes.count + size + part.count)
    while result.count < place + size { result += part }
    return result + bytes[place...]
}
