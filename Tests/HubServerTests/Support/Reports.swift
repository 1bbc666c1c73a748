import Foundation
import HubProtocol
import HubRouting
import Testing

import class HubTestServer.Signal

@testable import HubServer

extension TestHub {
    func report(_ id: MessageID, _ device: String? = nil) async throws -> MessageReport {
        let reply = try await send("GET", "deliveries/\(id)\(device.map { "?device=\($0)" } ?? "")", as: full)
        try #require(reply.status == 200, "\(reply.body)")
        return try JSONDecoder().decode(MessageReport.self, from: Data(reply.body.utf8))
    }

    func newest(_ query: String = "") async throws -> [MessageReport] {
        let reply = try await send("GET", "deliveries\(query)", as: full)
        try #require(reply.status == 200, "\(reply.body)")
        return try JSONDecoder().decode(MessageReports.self, from: Data(reply.body.utf8)).messages
    }

    /// Waits until something is so, which only the writer can bring about.
    func wait(until isSo: () async throws -> Bool) async throws {
        try #require(try await progress.wait(atMost: .seconds(60), until: isSo))
    }
}
