/// Messages between the nodes of a hub, outside the ordered log.
///
/// A message may be lost, so nothing that a client was promised depends on one.
package protocol NodeChannel: Sendable {
    /// Sends bytes to all other nodes that listen now.
    ///
    /// A node hears no announcement of its own, and none that was on its way for long.
    func announce(_ announcement: [UInt8])

    /// The announcements of other nodes, for one reader at a time.
    ///
    /// Of more than 1,024 unread ones, the oldest are dropped.
    func announcements() -> AsyncStream<[UInt8]>

    /// Sends a request to one node, and waits for its answer.
    ///
    /// The request can arrive after this node has given up: its own content must tell the other node what to do then.
    /// `isHopeless` is called about ten times a second; the request times out when it returns true.
    ///
    /// - Throws: ``NodeChannelError``; after a timeout, the node may or may not have acted on the request.
    func request(
        _ request: [UInt8],
        of node: String,
        timeout: Duration,
        unless isHopeless: @escaping @Sendable () -> Bool
    ) async throws(NodeChannelError) -> [UInt8]

    /// Answers the requests to this node until the task is cancelled.
    ///
    /// At most 1,000 requests are answered at a time. Others, and those that arrive while the node stops, get an empty
    /// answer.
    func serve(_ answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) async
}

/// The reason why a request to another node has no answer.
package enum NodeChannelError: Error, Equatable {
    /// No node of this name listens.
    case absent
    case timeout
    case disconnected
    /// The request or its answer is larger than a message may be.
    case tooLarge
}

/// The channel of a hub with one node.
package struct NoOtherNodes: NodeChannel {
    package init() {}

    package func announce(_ announcement: [UInt8]) {}
    package func announcements() -> AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }

    package func request(
        _ request: [UInt8],
        of node: String,
        timeout: Duration,
        unless isHopeless: @escaping @Sendable () -> Bool
    ) async throws(NodeChannelError) -> [UInt8] { throw .absent }

    package func serve(_ answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) async {}
}
