import CNats

/// A message of the engine.
struct EngineMessage: Sendable {
    var subject = ""
    var headers: [(name: String, value: String)] = []
    var data: [UInt8] = []
}

/// A received message, which owns its bytes.
struct ArrivedMessage: ~Copyable {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { natsMsg_Destroy(pointer) }

    var subject: String { String(cString: natsMsg_GetSubject(pointer)) }
    var reply: String? { natsMsg_GetReply(pointer).map { String(cString: $0) } }
    /// True if the server itself answers that nobody listens.
    var hasNoResponders: Bool { natsMsg_IsNoResponders(pointer) }

    func header(_ name: String) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(pointer, name, &value) == NATS_OK else { return nil }
        return value.map { String(cString: $0) }
    }

    var data: [UInt8] {
        guard let data = natsMsg_GetData(pointer) else { return [] }
        return Array(UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(pointer))))
    }

    /// A copy with the named headers.
    func copy(_ names: [String]) -> EngineMessage {
        EngineMessage(
            subject: subject,
            headers: names.compactMap { name in header(name).map { (name, $0) } },
            data: data
        )
    }
}

extension EngineMessage {
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
