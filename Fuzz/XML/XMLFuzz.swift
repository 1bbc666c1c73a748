import Feeds
import Foundation
import FuzzCheck
import Markup

/// Reads XML of every feed format, with the recovery of what is broken.
@_cdecl("LLVMFuzzerTestOneInput")
public func readXML(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    check(GuardedAllocations.installed, "libxml2's memory is not guarded")
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for bytes in [bytes, padded(bytes)].compactMap(\.self) {
        checkTree(bytes)
        checkStrict(bytes)
        checkFeed(bytes)
    }
    return 0
}

/// A strict reading refuses what has a fault, and says where.
private func checkStrict(_ bytes: [UInt8]) {
    let vocabulary = XMLVocabulary(roots: ["rss"], containers: ["channel"], records: ["item"])
    let text = CharacterDecoding.utf8(bytes, charset: nil).text
    do throws(XMLSyntaxError) {
        let tree = try XMLScanner.strictTree(of: text, vocabulary: vocabulary)
        check(tree.root != nil && tree.fault == nil, "a strict tree with a fault")
    } catch {
        check(error.line >= 1, "line \(error.line)")
        checkSentence(error.reason)
    }
}

/// The tree holds no more text than the document: no entity grows in it.
private func checkTree(_ bytes: [UInt8]) {
    let text = CharacterDecoding.utf8(bytes, charset: nil).text
    let vocabulary = XMLVocabulary(roots: ["rss"], containers: ["channel"], records: ["item"])
    let tree = XMLScanner.tree(of: text, vocabulary: vocabulary)
    guard let root = tree.root else { return }
    check(root.bytes.count <= 4 * text.count, "text grew from \(text.count) to \(root.bytes.count) bytes")
    check(String(validating: root.bytes, as: UTF8.self) != nil, "text is not UTF-8")
    check(tree.isComplete || !root.isClosed || tree.fault != nil, "a cut document without a fault")
    let again = XMLScanner.tree(of: text, vocabulary: vocabulary)
    check(again.root?.bytes == root.bytes && again.fault == tree.fault, "read differently the second time")
}

/// What a feed gives its readers is fit to be shown and followed.
private func checkFeed(_ bytes: [UInt8]) {
    let feed: Feed
    do throws(FeedError) {
        feed = try FeedReader.read(bytes, url: "https://x.example/f", contentType: nil)
    } catch {
        return check(!error.description.isEmpty && !error.description.contains("\n"), "\(error)")
    }
    check(feed.entries.count <= FeedReader.maximumEntries, "\(feed.entries.count) entries")
    for entry in feed.entries {
        for address in [entry.link, entry.image].compactMap(\.self) + entry.enclosures.map(\.url) {
            check(address.hasPrefix("http://") || address.hasPrefix("https://"), "address \(address)")
        }
        for text in [entry.title, entry.summary, entry.author].compactMap(\.self) + entry.categories {
            let isShown = !text.isEmpty && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            check(isShown, "text \(text.debugDescription)")
        }
    }
    let identity = "\(feed.identity(startingAt: .id))"
    let again = try? FeedReader.read(bytes, url: "https://x.example/f", contentType: nil)
    check(again.map { "\($0.identity(startingAt: .id))" } == identity, "another identity the second time")
    _ = feed.findings(now: Date(timeIntervalSince1970: 0))
}
