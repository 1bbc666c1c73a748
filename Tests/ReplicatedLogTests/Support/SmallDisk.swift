import Foundation
import HubTestServer

/// A disk of a few megabytes, in memory.
final class SmallDisk: Sendable {
    /// True if this process may mount one.
    static let isPossible = (try? SmallDisk(megabytes: 1)) != nil

    private struct NotMounted: Error {}

    private let folder: ScratchFolder
    var path: String { folder.path }

    init(megabytes: Int) throws {
        folder = try ScratchFolder()
        guard getuid() == 0,
            Self.run(["mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "newswire-test", folder.path])
        else { throw NotMounted() }
    }

    // The kernel unmounts it when the last file on it is closed.
    deinit { _ = Self.run(["umount", "--lazy", folder.path]) }

    private static func run(_ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
