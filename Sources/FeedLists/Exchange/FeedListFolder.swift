internal import FoundationEssentials
internal import HostSystem
internal import HubProtocol

/// The feed lists of a directory with their texts, for export and import.
package struct FeedListFolder: Sendable {
    package let directory: String
    package let lists: FeedLists
    /// The texts in the order of ``lists``.
    let texts: [FeedListText]
}

extension FeedListFolder {
    /// Reads the lists; a directory that does not exist yet has none.
    ///
    /// - Throws: ``FeedListsError`` with all problems of all files.
    package static func load(directory: String) throws(FeedListsError) -> FeedListFolder {
        guard HostFile.exists(directory) else { return try FeedListFolder(directory: directory, texts: []) }
        let files = try FeedLists.texts(in: directory)
        let lists = try FeedLists.parse(files)
        let texts = files.compactMap { file in
            (try? file.text.get()).map { FeedListText(file: file.file, text: $0) }
        }
        return FeedListFolder(directory: directory, lists: lists, texts: texts)
    }

    package init(directory: String, texts: [(file: String, text: String)]) throws(FeedListsError) {
        let lists = try FeedLists.parse(texts)
        self.init(directory: directory, lists: lists, texts: texts.map { FeedListText(file: $0.file, text: $0.text) })
    }

    /// The folder with some texts replaced or added.
    ///
    /// - Throws: ``FeedListsError`` when the limits of lists are exceeded, or the result cannot be read.
    func with(_ changed: [FeedListText]) throws(FeedListsError) -> FeedListFolder {
        var all = texts
        for text in changed {
            guard text.text.utf8.count <= FeedLists.maximumFileBytes else {
                throw FeedListsError(text.file, "would be larger than \(FeedLists.maximumFileBytes) bytes")
            }
            if let place = all.firstIndex(where: { $0.file == text.file }) {
                all[place] = text
            } else {
                all.append(text)
            }
        }
        guard all.count <= FeedLists.maximumFiles else {
            throw FeedListsError(directory, "would hold more than \(FeedLists.maximumFiles) feed lists")
        }
        return try FeedListFolder(directory: directory, texts: all.map { ($0.file, $0.text) })
    }

    /// Writes all texts to their files, or none; a list that was edited after it was read is an error.
    ///
    /// - Throws: ``FeedListsError``, `HostError`, or an error of the system.
    func write(_ changed: [FeedListText]) throws {
        guard !changed.isEmpty else { return }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var files: [HostFile.Content] = []
        for text in changed {
            let old = texts.first { $0.file == text.file }
            let now = HostFile.exists(text.file) ? try? FeedLists.contents(text.file).get() : nil
            guard now == old?.text, old != nil || !HostFile.exists(text.file) else {
                throw FeedListsError(text.file, "was changed by another program; run this again")
            }
            // A symbolic link is kept; its target is replaced.
            let path = old == nil ? text.file : URL(filePath: text.file).resolvingSymlinksInPath().path
            let permissions = old == nil ? Self.permissions : try HostFile.permissions(path)
            files.append(HostFile.Content(path: path, text: text.text, permissions: permissions))
        }
        try HostFile.replace(files)
    }

    /// Removes a feed from the list of a category.
    ///
    /// - Returns: False if the list does not have the feed.
    /// - Throws: ``FeedListShapeError``, and the errors of ``with(_:)`` and ``write(_:)``.
    package func remove(from category: String, _ isChosen: (FeedAddress) -> Bool) throws -> Bool {
        guard let place = lists.lists.firstIndex(where: { $0.category.text == category }) else { return false }
        let feeds = lists.lists[place].feeds
        let chosen = feeds.indices.filter { isChosen(feeds[$0].address) }
        guard let index = chosen.first else { return false }
        guard chosen.count == 1 else {
            throw FeedListsError(texts[place].file, "has several feeds with this address; edit the list by hand")
        }
        let changed = try texts[place].removing(index)
        _ = try with([changed])
        try write([changed])
        return true
    }

    private static let permissions: UInt32 = 0o644
}
