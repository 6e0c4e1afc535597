import NocturneCore
import NocturneJournal
import NocturneSystem

extension Discovery {
    /// Combines what several recipes found below the same inputs.
    ///
    /// A file that only some recipes can read is theirs alone; one that none can read is listed once, with the reasons of
    /// all, and so is one that no model is to process. Where several models process one source, the model is part of the
    /// key and of the name.
    package static func merged(_ each: [Discovery], routes: InputRoutes = InputRoutes()) -> Discovery {
        let unknown = unknownFiles(each)
        let processing = Processing(each, routes)
        var merged = Discovery(notes: unique(each.flatMap(\.notes)))
        for discovery in each { merged.patients.merge(discovery.patients) }
        var listed: Set<String> = []
        for (recipe, discovery) in each.enumerated() {
            for var item in discovery.items {
                // Every change is a copy.
                if item.recipe != recipe { item.recipe = recipe }
                if case .unknown = item.problem {
                    guard let file = unknown[item.path], file.recipes.count == each.count,
                        listed.insert(item.path).inserted
                    else { continue }
                    item.problem = .setAside(Self.joined(file.reasons))
                } else if routes.objection(of: item.model, to: item.path) != nil {
                    guard !processing.isProcessed(item.key), listed.insert(item.key).inserted else { continue }
                    let text = unique(processing.objections[item.key] ?? []).joined(separator: "; ")
                    item.problem = .setAside(.discovered(.notForModel, text))
                } else if processing.isShared(item.key) {
                    item.key += "|" + item.model
                    item.name += "@" + item.model
                    item.suffix += "@" + item.model
                }
                merged.items.append(merged.withholdingWords(item))
            }
        }
        return merged
    }

    /// What lies beside files that name a patient is shown without these words, too.
    private func withholdingWords(_ item: DiscoveredItem) -> DiscoveredItem {
        guard item.words.isEmpty else { return item }
        let words = patients.words(of: item.path)
        guard !words.isEmpty else { return item }
        var item = item
        item.words = words
        let names = ShownNames(.hash, words: item.words)
        (item.name, item.suffix) = (names.shown(item.name), names.shown(item.suffix))
        return item
    }

    /// Adds files and folders that do not respond and that no recipe has listed, as failures.
    package mutating func addFailures(of files: UnresponsiveFiles, _ identifiers: IdentifierPolicy = .hash) {
        let paths = files.paths
        guard !paths.isEmpty else { return }
        let listed = Set(items.lazy.map(\.path))
        for path in paths where !listed.contains(path) {
            let hides = files.hides(path)
            let key = (hides ? DiscoveredItem.missedKeyPrefix : DiscoveredItem.fileKeyPrefix) + path
            let stamps = hides ? [] : [InputStamp(path)]
            let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
            let item = DiscoveredItem(
                key: key,
                name: ShownNames(identifiers).itemName(name, key: key),
                model: "",
                source: path,
                path: path,
                fingerprint: ContentDigest.of(path + (stamps.first?.text ?? "")),
                inputs: stamps,
                problem: .refused(files.reason(for: path))
            )
            items.append(withholdingWords(item))
        }
    }

    /// The files that a recipe cannot read, by their paths, with the recipes and their reasons.
    private static func unknownFiles(_ each: [Discovery]) -> [String: (recipes: Set<Int>, reasons: [ItemReason])] {
        var unknown: [String: (recipes: Set<Int>, reasons: [ItemReason])] = [:]
        for (recipe, discovery) in each.enumerated() {
            for item in discovery.items {
                guard case .unknown(let reason) = item.problem else { continue }
                var file = unknown[item.path] ?? ([], [])
                if !file.reasons.contains(reason) { file.reasons.append(reason) }
                file.recipes.insert(recipe)
                unknown[item.path] = file
            }
        }
        return unknown
    }

    /// One reason of several recipes' reasons. Its code is theirs if they agree.
    private static func joined(_ reasons: [ItemReason]) -> ItemReason {
        let codes = Set(reasons.map(\.code))
        let text = reasons.map(\.text).joined(separator: "; ")
        return .discovered(codes.count == 1 ? reasons[0].code : .unknownFormat, text)
    }

    /// Which models process the inputs that recipes can read. Of a million inputs it takes some 40 MB, of inputs of a single
    /// model nothing.
    private struct Processing {
        /// By the hashes of keys: whether several models process it. Empty where all items have one model.
        private var isShared: [UInt64: Bool] = [:]
        /// Why models do not process an input, by its key.
        private(set) var objections: [String: [String]] = [:]

        init(_ each: [Discovery], _ routes: InputRoutes) {
            let known = each.map { $0.items.lazy.filter { !$0.isUnknown } }
            var models: Set<String> = []
            for items in known { for item in items where models.count < 2 { models.insert(item.model) } }
            guard models.count > 1 || !routes.isEmpty else { return }
            for item in known.joined() {
                if let objection = routes.objection(of: item.model, to: item.path) {
                    objections[item.key, default: []].append(objection)
                } else {
                    let hash = TextHash.of(item.key)
                    isShared[hash] = isShared[hash] != nil
                }
            }
        }

        /// Whether a model processes the input; asked of inputs that another one does not process.
        func isProcessed(_ key: String) -> Bool { isShared[TextHash.of(key)] != nil }

        /// Whether several models process the input.
        func isShared(_ key: String) -> Bool { !isShared.isEmpty && isShared[TextHash.of(key)] == true }
    }

    private static func unique(_ notes: [String]) -> [String] {
        var seen: Set<String> = []
        return notes.filter { seen.insert($0).inserted }
    }
}

extension DiscoveredItem {
    /// Whether its recipe cannot read it, and another one may.
    fileprivate var isUnknown: Bool { if case .unknown = self.problem { true } else { false } }
}
