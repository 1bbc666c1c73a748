import Formats

/// The body of a direct send to many handles.
///
/// Source: protocol §5.4.
struct BatchBody: Sendable {
    /// Maximum number of handles in a batch.
    static let maximumHandles = 1_000
    /// Largest request, in bytes: the notification, and as many handles as a batch has of the longest kind, those of
    /// WNS.
    static let maximumBytes = Message.maximumBytes + maximumHandles * 1_100

    let notification: [UInt8]
    let notificationType: MediaType
    let handles: [PushChannel]

    /// Finds the two parts by the names in their dispositions, in either order.
    ///
    /// - Throws: ``ProtocolError`` 400 with the part that is missing or wrong; 413 for a notification above the limit
    ///   of any message.
    init(_ bytes: [UInt8], type: MediaType) throws(ProtocolError) {
        let parts = try MultipartBody(bytes, type: type).parts
        func part(_ name: String) throws(ProtocolError) -> MultipartBody.Part {
            let found = parts.filter { $0.name?.lowercased() == name }
            guard found.count == 1, let part = found.first else {
                let count = found.isEmpty ? "no part" : "\(found.count) parts"
                throw .badRequest(
                    "The multipart body has \(count) with 'Content-Disposition: inline; name=\(name)'; it needs one for the notification and one for the devices."
                )
            }
            return part
        }
        let notification = try part("notification")
        guard notification.body.count <= Message.maximumBytes else {
            throw .tooLarge("The notification is larger than \(Message.maximumBytes) bytes.")
        }
        self.notification = notification.body
        notificationType = notification.type
        let devices = try part("devices")
        handles = try Self.handles(
            try BodyText.utf8(devices.body, charset: devices.type.charset, called: "The part 'devices'")
        )
    }

    private static func handles(_ text: [UInt8]) throws(ProtocolError) -> [PushChannel] {
        let wanted = #"the part 'devices' must be a JSON array of push handles, such as ["AA","BB"]"#
        let node: JSONNode
        do {
            node = try JSONReader.read(SingleQuotes.replaced(in: text))
        } catch {
            throw .badRequest("The devices cannot be read: \(error.reason), at byte \(error.offset); \(wanted).")
        }
        guard case .array(let elements) = node.content else {
            throw .badRequest("The devices are \(node.kind); \(wanted).")
        }
        guard !elements.isEmpty else { throw .badRequest("There is no device: \(wanted).") }
        guard elements.count <= maximumHandles else {
            throw .badRequest(
                "A batch has at most \(maximumHandles) devices, not \(elements.count): send several batches."
            )
        }
        var problems = ProblemList()
        var handles: [PushChannel] = []
        for (index, element) in elements.enumerated() {
            let label = "device \(index + 1)"
            guard let handle = PushChannel(element, at: label, &problems) else { continue }
            if let problem = DirectHandle.problem(of: handle) { problems.add("\(label) \(problem)") }
            handles.append(handle)
        }
        try problems.throwIfAny()
        return handles
    }
}

/// An array of strings in single quotes, as one published sample has it.
private enum SingleQuotes {
    /// The text as JSON, if its first string begins with a single quote.
    static func replaced(in text: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "'")
        let start = text.drop { $0 <= 0x20 || $0 == UInt8(ascii: "[") }
        guard start.first == quote, !text.contains(UInt8(ascii: "\"")) else { return text }
        return text.map { $0 == quote ? UInt8(ascii: "\"") : $0 }
    }
}
