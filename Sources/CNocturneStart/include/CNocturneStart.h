/* Code that runs before any library is initialised. Linking this target is sufficient. */
#pragma once
