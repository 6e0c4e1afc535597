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
        let (models, objections) = models(each, routes)
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
                    guard models[item.key] == nil, listed.insert(item.key).inserted else { continue }
                    let text = unique(objections[item.key] ?? []).joined(separator: "; ")
                    item.problem = .setAside(.discovered(.notForModel, text))
                } else if let several = models[item.key], several.count > 1 {
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
        let listed = Set(items.map(\.path))
        for path in files.paths where !listed.contains(path) {
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

    /// Of everything that a recipe can read, by its key: the models that process it, and why others do not.
    private static func models(_ each: [Discovery], _ routes: InputRoutes) -> (
        models: [String: Set<String>], objections: [String: [String]]
    ) {
        var models: [String: Set<String>] = [:]
        var objections: [String: [String]] = [:]
        for item in each.flatMap(\.items) {
            if case .unknown = item.problem { continue }
            if let objection = routes.objection(of: item.model, to: item.path) {
                objections[item.key, default: []].append(objection)
            } else {
                models[item.key, default: []].insert(item.model)
            }
        }
        return (models, objections)
    }

    private static func unique(_ notes: [String]) -> [String] {
        var seen: Set<String> = []
        return notes.filter { seen.insert($0).inserted }
    }
}
