import CNghttp2

/// A request of a batch, on its way over HTTP/2.
struct BatchRequest {
    let work: BatchWork
    let index: Int
    /// Number of times that the host has refused the request without processing it.
    var refusals = 0

    var place: Int { work.batch.targets[index].place }
    var target: OutboundTarget { work.batch.targets[index].target }

    func answer(_ result: Result<OutboundResponse, OutboundError>) -> BatchAnswer {
        BatchAnswer(batch: work.batch, place: place, result: result)
    }
}

/// A batch and the header fields that its requests have in common, in nghttp2's form.
///
/// Confined to the loop's thread. nghttp2 refers to the fields without copying them, so they live as long as a request.
final class BatchWork {
    let batch: TransferBatch
    /// `:method`, `:scheme` and `:authority`, then the fields after `:path`.
    let fields: UnsafeMutableBufferPointer<nghttp2_nv>
    static let pseudoFields = 3
    /// The path of the common URL with its query.
    let path: String
    private let text: UnsafeMutableBufferPointer<UInt8>

    var plan: TransferPlan { batch.plan }

    init(_ batch: TransferBatch) {
        let plan = batch.plan
        let address = plan.address
        self.batch = batch
        let rest = address.text.dropFirst(address.scheme.count + 3)
        path = String(rest.drop { $0 != "/" })
        var lines = [
            (":method", Array(plan.options.method.utf8)), (":scheme", Array(address.scheme.utf8)),
            (":authority", Array(rest.prefix { $0 != "/" }.utf8)), ("user-agent", Array(plan.options.userAgent.utf8)),
        ]
        lines += plan.headers.filter { !Self.isOfConnection($0.name) }.map { ($0.name, $0.bytes) }
        if let body = plan.body { lines.append(("content-length", Array("\(body.count)".utf8))) }
        text = .allocate(capacity: lines.reduce(0) { $0 + $1.0.utf8.count + $1.1.count })
        fields = .allocate(capacity: lines.count)
        var writer = FieldWriter(text)
        for (index, line) in lines.enumerated() {
            let field = writer.write(
                line.0,
                line.1,
                flags: NGHTTP2_NV_FLAG_NO_COPY_NAME,
                NGHTTP2_NV_FLAG_NO_COPY_VALUE
            )
            fields.initializeElement(at: index, to: field)
        }
    }

    deinit {
        fields.deallocate()
        text.deallocate()
    }

    /// True for a field that concerns one connection of HTTP/1.1 only (RFC 9113 §8.2.2), and for `Host`.
    static func isOfConnection(_ name: String) -> Bool {
        ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"]
            .contains { name.isEqualIgnoringCase(to: $0) }
    }
}

/// Writes header fields into memory for nghttp2, with names in lower case (RFC 9113 §8.2).
struct FieldWriter {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var end = 0

    init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

    /// Writes a field, whose value has two parts; its memory must have room for it.
    mutating func write(
        _ name: String,
        _ value: some Sequence<UInt8>,
        _ rest: some Sequence<UInt8> = EmptyCollection(),
        flags: nghttp2_nv_flag...
    ) -> nghttp2_nv {
        let start = end
        append(name.utf8.lazy.map(\.asciiLowercased))
        let middle = end
        append(value)
        append(rest)
        return nghttp2_nv(
            name: memory.baseAddress.map { $0 + start },
            value: memory.baseAddress.map { $0 + middle },
            namelen: middle - start,
            valuelen: end - middle,
            flags: flags.reduce(0) { $0 | UInt8($1.rawValue) }
        )
    }

    private mutating func append(_ bytes: some Sequence<UInt8>) {
        let room = UnsafeMutableBufferPointer(rebasing: memory[end...])
        end += room.initialize(from: bytes).index
    }
}
