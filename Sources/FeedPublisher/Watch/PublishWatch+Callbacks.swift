/// Verification requests and deliveries of feeds' hubs.
extension PublishWatch {
    /// Answers a hub's verification request; never throws, so that the hub asks again when our disk is full.
    package func answer(_ path: String, query: String) -> WebSubAnswer {
        guard let subscriber else { return .unknown }
        return (try? subscriber.answer(path, query: query)) ?? .busy
    }

    /// Processes a hub's delivery; never throws, like ``answer(_:query:)``.
    package func take(_ delivery: WebSubDelivery, body: () async throws -> [UInt8]?) async -> WebSubAnswer {
        guard let subscriber else { return .unknown }
        return (try? await subscriber.take(delivery, pass, body: body)) ?? .busy
    }
}
