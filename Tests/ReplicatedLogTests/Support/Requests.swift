import HubStore

extension NodeChannel {
    /// Sends a request that is never hopeless.
    func request(_ request: [UInt8], of node: String, timeout: Duration) async throws(NodeChannelError) -> [UInt8] {
        try await self.request(request, of: node, timeout: timeout) { false }
    }
}
