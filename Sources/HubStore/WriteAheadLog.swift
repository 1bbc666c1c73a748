import SQLiteFiles

/// How large SQLite's write-ahead log may become before it is moved into the file, and stay afterwards.
enum WriteAheadLog {
    static let pageBytes = 4_096
    /// 16 MiB: what is written again and again, as the indexes of registrations are, is moved a quarter as often as with
    /// SQLite's own 1,000 pages.
    static let maximumPages = 4_096
    /// 256 KiB: a few messages of the largest size.
    static let minimumPages = 64
    /// A small disk gives the log this part of itself.
    private static let partOfDisk: Int64 = 64

    /// `nil` where nothing is known of the disk.
    static func pages(onDiskOf space: DiskSpace?) -> Int {
        guard let space else { return maximumPages }
        let pages = space.total / partOfDisk / Int64(pageBytes)
        return Int(min(Int64(maximumPages), max(Int64(minimumPages), pages)))
    }
}
