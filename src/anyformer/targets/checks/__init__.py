"""Does a target keep what it declares, as far as samples tell?"""
