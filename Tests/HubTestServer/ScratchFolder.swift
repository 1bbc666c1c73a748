import Foundation

/// A directory that goes when the test does.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        path = NSTemporaryDirectory() + "newswire-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { path + "/" + name }
}
