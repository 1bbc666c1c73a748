import CCurl
import Glibc

/// Header lines in memory that libcurl reads while a transfer runs.
final class HeaderLines {
    private var text = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 1_024)
    private var nodes = UnsafeMutableBufferPointer<curl_slist>.allocate(capacity: 16)
    private var end = 0
    private var line = 0

    deinit {
        text.deallocate()
        nodes.deallocate()
    }

    /// Returns the list for a transfer, valid until the next call.
    func list(of transfer: Transfer) -> UnsafeMutablePointer<curl_slist>? {
        guard let part = transfer.part else { return list(of: transfer.plan.headers) }
        let headers = part.target.headers
        clear(bytes: headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }, lines: headers.count)
        for (name, value) in headers { append(name, value.utf8) }
        return list(then: part.batch.commonHeaders.list)
    }

    /// Returns a list of all headers of a request.
    fileprivate func list(of fields: [OutboundHeaders.Field]) -> UnsafeMutablePointer<curl_slist>? {
        // Otherwise libcurl would wait a second for "100 Continue", and declare any body a form.
        let hasType = fields.contains { $0.name.isEqualIgnoringCase(to: "Content-Type") }
        let unsent = hasType ? ["Expect:"] : ["Expect:", "Content-Type:"]
        clear(
            bytes: fields.reduce(32) { $0 + $1.name.utf8.count + $1.bytes.count + 3 },
            lines: fields.count + unsent.count
        )
        for field in fields { append(field.name, field.bytes) }
        for line in unsent { append { append(line.utf8) } }
        return list(then: nil)
    }

    private func list(then rest: UnsafeMutablePointer<curl_slist>?) -> UnsafeMutablePointer<curl_slist>? {
        guard line > 0 else { return rest }
        nodes[line - 1].next = rest
        return nodes.baseAddress
    }

    private func append(_ name: String, _ value: some Collection<UInt8>) {
        append {
            append(name.utf8)
            // With a colon alone libcurl removes the header.
            append((value.isEmpty ? ";" : ": ").utf8)
            append(value)
        }
    }

    /// Appends a line.
    private func append(_ content: () -> Void) {
        let start = text.baseAddress.map { $0 + end }
        content()
        append(CollectionOfOne(0))
        nodes[line] = curl_slist(data: start, next: nil)
        if line > 0 { nodes[line - 1].next = nodes.baseAddress.map { $0 + line } }
        line += 1
    }

    private func append(_ bytes: some Collection<UInt8>) {
        let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: text[end...]))
        rest.copyBytes(from: bytes)
        end += bytes.count
    }

    private func clear(bytes: Int, lines: Int) {
        (end, line) = (0, 0)
        if text.count < bytes {
            text.deallocate()
            text = .allocate(capacity: bytes)
        }
        if nodes.count < lines {
            nodes.deallocate()
            nodes = .allocate(capacity: lines)
        }
    }
}

/// Headers that the transfers of a batch have in common.
///
/// `@unchecked Sendable`: nothing is changed after the initialiser, and libcurl only reads the lines.
final class CommonHeaders: @unchecked Sendable {
    private let lines = HeaderLines()
    fileprivate let list: UnsafeMutablePointer<curl_slist>?

    init(_ fields: [OutboundHeaders.Field]) { list = lines.list(of: fields) }
}
