import SQLiteFiles

/// Limits of SQLite's write-ahead log: the size at which it is checkpointed, and the size that it keeps afterwards.
enum WriteAheadLog {
    static let pageBytes = 4_096
    /// 16 MiB: pages that are rewritten often, as in registration indexes, are checkpointed a quarter as often as with
    /// SQLite's default of 1,000 pages.
    static let maximumPages = 4_096
    /// 256 KiB: a few messages of maximum size.
    static let minimumPages = 64
    /// The divisor of the disk's size that bounds the log on a small disk.
    private static let partOfDisk: Int64 = 64

    /// The maximum number of pages; the default if `space` is `nil`.
    static func pages(onDiskOf space: DiskSpace?) -> Int {
        guard let space else { return maximumPages }
        let pages = space.total / partOfDisk / Int64(pageBytes)
        return Int(min(Int64(maximumPages), max(Int64(minimumPages), pages)))
    }
}
