import Foundation
import FuzzCheck

@testable import Feeds

/// Reads dates; what is read, written in RFC 3339 and in RFC 822, is read as the same date.
@_cdecl("LLVMFuzzerTestOneInput")
public func readDate(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let date = FeedDate.parse(bytes[...]) else { return 0 }
    let seconds = date.timeIntervalSince1970
    check(seconds == seconds.rounded() && seconds < 300_000_000_000, "\(seconds)")
    check(FeedDate.parse([0x20, 0x0A] + bytes[...]) == date, "white space in front changes it")
    // Years before 1971 are how generators write "no date"; an offset may lead there.
    guard date >= Date(timeIntervalSince1970: 31_536_000), date < Date(timeIntervalSince1970: 253_402_300_800) else {
        return 0
    }
    for text in [date.formatted(.iso8601), rfc822(date)] {
        let back = FeedDate.parse(text)
        check(back == date, "\(text) is read as \(String(describing: back))")
    }
    return 0
}

private func rfc822(_ date: Date) -> String {
    var seconds = time_t(date.timeIntervalSince1970)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
