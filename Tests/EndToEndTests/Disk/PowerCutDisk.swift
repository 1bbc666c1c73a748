import Foundation
import Testing

/// A disk of its own, whose power can be cut: what was not synced is lost.
///
/// An ext4 file system in a file, which is shut down without writing its journal.
final class PowerCutDisk {
    /// True if this process may mount one.
    static let isPossible: Bool = {
        guard geteuid() == 0, let disk = try? PowerCutDisk() else { return false }
        return (try? disk.cut()) != nil
    }()

    struct Failed: Error { let command: [String] }

    /// `EXT4_IOC_SHUTDOWN` and `EXT4_GOING_FLAGS_NOLOGFLUSH` of Linux's `fs/ext4/ext4.h`.
    private static let shutDown: UInt = 0x8004_587D
    private static let withoutJournal: UInt32 = 2

    private let scratch: ScratchFolder
    private var image: String
    /// Where the disk is mounted.
    let path: String

    init() throws {
        scratch = try ScratchFolder()
        path = scratch.file("disk")
        image = scratch.file("image")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Self.run(["truncate", "--size=96M", image])
        try Self.run(["mkfs.ext4", "-q", "-F", image])
        try mount()
    }

    deinit { try? Self.run(["umount", "--lazy", path]) }

    /// Mounts it so that nothing is written before a program asks for it.
    private func mount() throws { try Self.run(["mount", "-o", "loop,commit=600", image, path]) }

    /// Writes everything that was changed until now.
    func sync() throws { try Self.run(["sync", "--file-system", path]) }

    /// Cuts the power: no more writes succeed.
    func cut() throws {
        let folder = open(path, O_RDONLY | O_DIRECTORY)
        defer { close(folder) }
        var flags = Self.withoutJournal
        guard ioctl(folder, Self.shutDown, &flags) == 0 else { throw Failed(command: ["ioctl", path]) }
    }

    /// Mounts what was on the disk when its power was cut, as the next start of the machine would.
    ///
    /// It is a copy: a mount namespace that another test has made meanwhile keeps the dead file system, and Linux would
    /// mount that one again instead of reading the same image.
    func restart() throws {
        try Self.run(["umount", "--lazy", path])
        let copy = image + "-restarted"
        try Self.run(["cp", "--sparse=always", image, copy])
        image = copy
        try mount()
    }

    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(command: arguments) }
    }
}
