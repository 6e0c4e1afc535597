/* What the program does before any library is initialised. Linking this target is enough. */
#pragma once
