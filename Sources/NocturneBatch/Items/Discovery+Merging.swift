import NocturneCore
import NocturneSystem

extension Discovery {
    /// What several recipes found below the same inputs, as one.
    ///
    /// A file of a kind that only some recipes know is theirs alone; one that none knows is told once, with what each
    /// would have taken, and so is one that no model is to see. Where several models work on one source, the model is
    /// part of the key and of the name.
    package static func merged(_ each: [Discovery], routes: InputRoutes = InputRoutes()) -> Discovery {
        let strangers = strangers(each)
        let (models, barred) = takers(each, routes)
        var merged = Discovery(notes: unique(each.flatMap(\.notes)))
        var told: Set<String> = []
        for (recipe, discovery) in each.enumerated() {
            for var item in discovery.items {
                item.recipe = recipe
                if case .unknown = item.problem {
                    guard let stranger = strangers[item.path], stranger.recipes.count == each.count,
                        told.insert(item.path).inserted
                    else { continue }
                    item.problem = .setAside(stranger.reasons.joined(separator: "; "))
                } else if routes.objection(of: item.model, to: item.path) != nil {
                    guard models[item.key] == nil, told.insert(item.key).inserted else { continue }
                    item.problem = .setAside(unique(barred[item.key] ?? []).joined(separator: "; "))
                } else if let several = models[item.key], several.count > 1 {
                    item.key += "|" + item.model
                    item.name += "@" + item.model
                }
                merged.items.append(item)
            }
        }
        return merged
    }

    /// Files that do not answer are failures, also where no recipe took them for its own.
    mutating func account(for silent: UnresponsiveFiles) {
        let told = Set(items.map(\.path))
        for path in silent.paths where !told.contains(path) {
            items.append(
                DiscoveredItem(
                    key: DiscoveredItem.fileKeyPrefix + path,
                    name: path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path,
                    model: "",
                    source: path,
                    path: path,
                    fingerprint: ContentDigest.of(path + InputStamp(path).words),
                    inputs: [InputStamp(path)],
                    problem: .refused(silent.words(of: path))
                )
            )
        }
    }

    /// The files that a recipe does not know, by their paths, with the recipes and their reasons.
    private static func strangers(_ each: [Discovery]) -> [String: (recipes: Set<Int>, reasons: [String])] {
        var strangers: [String: (recipes: Set<Int>, reasons: [String])] = [:]
        for (recipe, discovery) in each.enumerated() {
            for item in discovery.items {
                guard case .unknown(let reason) = item.problem else { continue }
                var known = strangers[item.path] ?? ([], [])
                if !known.reasons.contains(reason) { known.reasons.append(reason) }
                known.recipes.insert(recipe)
                strangers[item.path] = known
            }
        }
        return strangers
    }

    /// Of everything that a recipe knows, by its key: the models that take it, and why others do not see it.
    private static func takers(_ each: [Discovery], _ routes: InputRoutes) -> (
        models: [String: Set<String>], barred: [String: [String]]
    ) {
        var models: [String: Set<String>] = [:]
        var barred: [String: [String]] = [:]
        for item in each.flatMap(\.items) {
            if case .unknown = item.problem { continue }
            if let objection = routes.objection(of: item.model, to: item.path) {
                barred[item.key, default: []].append(objection)
            } else {
                models[item.key, default: []].insert(item.model)
            }
        }
        return (models, barred)
    }

    private static func unique(_ notes: [String]) -> [String] {
        var seen: Set<String> = []
        return notes.filter { seen.insert($0).inserted }
    }
}
