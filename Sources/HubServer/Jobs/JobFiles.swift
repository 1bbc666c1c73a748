import HostSystem
import HubProtocol
import NIOPosix

/// The files of one hub's jobs, used from threads that may wait for a disk.
struct JobFiles: Sendable {
    static let output = "Output.txt"
    static let failed = "Failed.txt"

    private let root: ConfinedFolder
    private let hub: HubName

    /// Each hub has its own folder, so that no hub's job reads files that another one has written.
    init(_ root: String, hub: HubName) {
        self.root = ConfinedFolder(root)
        self.hub = hub
    }

    var path: String { root.path(of: hub.text) }

    func openForReading(_ name: JobFileName) async throws -> ConfinedFile {
        try await Self.blocking { try root.openForReading("\(hub)/\(name.text)") }
    }

    func openForWriting(_ file: String, job: String) async throws -> ConfinedFile {
        try await Self.blocking { try root.openForWriting("\(hub)/\(job)/\(file)") }
    }

    /// Removes the files that a job has written.
    func remove(job: String) async throws {
        try await Self.blocking { try root.remove([Self.output, Self.failed], of: "\(hub)/\(job)") }
    }

    static func blocking<Output: Sendable>(_ work: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await NIOThreadPool.singleton.runIfActive(work)
    }
}
